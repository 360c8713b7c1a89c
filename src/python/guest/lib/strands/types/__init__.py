"""Types that tools are annotated with."""
