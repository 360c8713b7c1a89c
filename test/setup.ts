// Programs that tests start refuse unknown variables of this prefix.
delete process.env["GLOVEBOX_TEST_REQUIRE"];
