/** Cases that fall against the server as it is: h1spec asks for one that echoes what is sent to `/`, by any method. */
export const NO_ECHO: readonly string[] = ["Valid POST request with body", "Chunked Transfer-Encoding"];
