import { describe, expect, test } from "vitest";
import { openRealm } from "./in-realm.ts";

/** Runs a body in a realm, with a function that makes a class as they were written before the language had them. */
async function answerOf(body: string): Promise<unknown> {
  using realm = await openRealm(
    `async () => {
      const { inherits } = __node.require("util"), { Buffer } = __node;
      const stream = __node.require("stream"), zlib = __node.require("zlib");
      const inheriting = (Base) => {
        function Old(...args) { Base.apply(this, args); }
        inherits(Old, Base);
        return Old;
      };
      const whole = (from) => new Promise((resolve, reject) => {
        const parts = [];
        from.on("data", (part) => parts.push(part)).on("end", () => resolve(Buffer.concat(parts).toString())).on("error", reject);
      });
      ${body}
    }`,
  );
  return realm.call();
}

describe("Classes that call the constructor they inherit from on their objects", () => {
  test("may inherit from each class of streams", async () => {
    const answer = await answerOf(`
      const made = ["Readable", "Writable", "Duplex", "Transform", "PassThrough"].map((name) => {
        const Base = stream[name], Old = inheriting(Base);
        return new Old() instanceof Base && new Old() instanceof stream;
      });
      return made;`);
    expect(answer).toEqual([true, true, true, true, true]);
  });

  test("may inherit from the module of streams itself, which reads and writes nothing", async () => {
    const answer = await answerOf(`
      const Old = inheriting(stream), old = new Old(), heard = [];
      old.on("data", (chunk) => heard.push(chunk));
      old.emit("data", "a");
      return [stream === stream.Stream, heard, "_read" in old];`);
    expect(answer).toEqual([true, ["a"], false]);
  });

  test("may inherit from those of zlib", async () => {
    const answer = await answerOf(`
      const Old = inheriting(zlib.Inflate), old = new Old({});
      old.end(zlib.deflateSync("abc"));
      class New extends zlib.Gunzip {}
      const fresh = new New();
      fresh.end(zlib.gzipSync("def"));
      return [old instanceof stream.Transform, await whole(old), fresh instanceof New, await whole(fresh)];`);
    expect(answer).toEqual([true, "abc", true, "def"]);
  });

  test("may inherit from those of http, with what their constructors are given", async () => {
    const answer = await answerOf(`
      const http = __node.require("http");
      const agent = new (inheriting(http.Agent))({ a: 1 });
      const message = new (inheriting(http.IncomingMessage))({ remoteAddress: "::1" });
      const request = new (inheriting(http.ClientRequest))({ host: "a.b", path: "/c", method: "PUT" });
      request.setHeader("X-A", "1");
      const server = new (inheriting(http.Server))();
      let heard = 0;
      for (const each of [agent, message, request, server]) each.on("a", () => heard++).emit("a");
      const isOf = [agent instanceof http.Agent, message instanceof stream.Readable, request instanceof http.ClientRequest, server instanceof http.Server];
      return [isOf, heard, agent.options, message.socket.remoteAddress, request.method, request.path, request.getHeader("x-a")];`);
    expect(answer).toEqual([[true, true, true, true], 4, { a: 1 }, "::1", "PUT", "/c", "1"]);
  });

  test("may make a request of their own out of http's", async () => {
    const answer = await answerOf(`
      const { IncomingMessage } = __node.require("http");
      class Request extends IncomingMessage {
        constructor(body) {
          super({ encrypted: true });
          Object.assign(this, { url: "/a", method: "POST", headers: { a: "b" }, complete: true });
          this._read = () => { this.push(body); this.push(null); };
        }
      }
      const request = new Request("abc");
      return [await whole(request), request.method, request.headers.a, request.connection.encrypted];`);
    expect(answer).toEqual(["abc", "POST", "b", true]);
  });
});

describe("Streams of zlib", () => {
  test("let packages run the binding into a buffer of their own, as pngjs does", async () => {
    const answer = await answerOf(`
      const inflate = new zlib.Inflate({ chunkSize: 64 }), parts = [];
      const input = zlib.deflateSync("a".repeat(200));
      let start = 0, length = input.length, room = 0;
      while (room === 0) {
        inflate._handle.writeSync(zlib.constants.Z_FINISH, input, start, length, inflate._outBuffer, 0, 64);
        const [outAfter, inAfter] = inflate._writeState;
        parts.push(Buffer.from(inflate._outBuffer.subarray(0, 64 - outAfter)));
        [start, length, room] = [start + length - inAfter, inAfter, outAfter];
      }
      inflate.close();
      return [parts.map((part) => part.length), Buffer.concat(parts).toString() === "a".repeat(200), inflate._handle];`);
    expect(answer).toEqual([[64, 64, 64, 8], true, null]);
  });

  test("give a chunk's result at once where packages ask for it", async () => {
    const answer = await answerOf(`
      return new zlib.Inflate()._processChunk(zlib.deflateSync("abc"), zlib.constants.Z_FINISH).toString();`);
    expect(answer).toBe("abc");
  });

  test("fail with Node's codes at input that is broken or ends early", async () => {
    const answer = await answerOf(`
      const codeOf = async (input) => {
        const inflate = zlib.createInflate();
        inflate.end(input);
        return whole(inflate).catch((error) => error.code);
      };
      return [await codeOf(Buffer.from("garbage")), await codeOf(zlib.deflateSync("abc").subarray(0, 5))];`);
    expect(answer).toEqual(["Z_DATA_ERROR", "Z_BUF_ERROR"]);
  });
});

test("Classes of crypto make objects with and without new", async () => {
  const answer = await answerOf(`
    const crypto = __node.require("crypto"), key = Buffer.alloc(16);
    const args = { Hash: ["sha256"], Hmac: ["sha256", "k"], Sign: ["sha256"], Verify: ["sha256"], ECDH: ["prime256v1"],
      Cipheriv: ["aes-128-cbc", key, key], Decipheriv: ["aes-128-cbc", key, key] };
    const isOf = Object.entries(args).map(([name, given]) => {
      const Class = crypto[name];
      return [Class(...given), new Class(...given), crypto["create" + name](...given)].every((one) => one instanceof Class);
    });
    const hash = crypto.Hash("sha256").update("a"), copy = hash.copy().digest("hex");
    return [isOf, hash.digest("hex") === copy, copy === crypto.createHash("sha256").update("a").digest("hex")];`);
  expect(answer).toEqual([Array.from({ length: 7 }, () => true), true, true]);
});
