/** Express 4 has no types of its own; what these tests use of it is as in Express 5. */
declare module "express4" {
  import express from "express";
  export default express;
}
