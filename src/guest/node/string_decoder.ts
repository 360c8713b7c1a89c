import { StringDecoder } from "string_decoder";

/** `node:string_decoder`. */
export const shared = { StringDecoder };
