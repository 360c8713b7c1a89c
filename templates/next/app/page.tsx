export default function Page() {
  return <h1>The application&apos;s own page</h1>;
}
