import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { serve } from "./server.ts";
import { Session } from "./session.ts";

/** Made for these tests alone: it is the certificate of tls.example, and nobody's who did not say so. */
const cert = `-----BEGIN CERTIFICATE-----
MIIBnzCCAUWgAwIBAgIUJtokUctAvpxifLgKSopBSFM4Vc0wCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNZ2xvdmVib3gtdGVzdDAgFw0yNjExMjExNTA3NTBaGA8yMTI2
MTAyODE1MDc1MFowGDEWMBQGA1UEAwwNZ2xvdmVib3gtdGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABDFAfP7QCTpRSOeeYW/U/BtiWNTPvqzWikrTUwr3jnqs
Tf8taC6ay196DOVgmltgk6s35ve1hPpsHFTag5Co6zmjazBpMB0GA1UdDgQWBBRG
btDDzDr9h5Zwo1TzRYb+oXi35DAfBgNVHSMEGDAWgBRGbtDDzDr9h5Zwo1TzRYb+
oXi35DAPBgNVHRMBAf8EBTADAQH/MBYGA1UdEQQPMA2CC3Rscy5leGFtcGxlMAoG
CCqGSM49BAMCA0gAMEUCIQDgeh06Z+pUcsatDZBkv7GBNSBVSo4HlchKGy8mbSRI
DwIgcAz4YZqwJCJph1En886Lp8I35ciKfaY7nAZd+P0Kif8=
-----END CERTIFICATE-----`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSG7VQCrynL03EaYq
8ymDZ+FPDClMZPt+G/agQakJSTShRANCAAQxQHz+0Ak6UUjnnmFv1PwbYljUz76s
1opK01MK9456rE3/LWgumstfegzlYJpbYJOrN+b3tYT6bBxU2oOQqOs5
-----END PRIVATE KEY-----`;

describe("a request over TLS", () => {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer({ cert, key }, (request, response) =>
    response.end(`got ${String(request.headers.host)}`),
  );
  server.on("upgrade", (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (opened) => opened.send(`for ${String(request.headers.host)}`)),
  );
  let port = 0;

  beforeEach(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  const open = (name: string) =>
    new Session({ rules: [{ privateOrigins: [`https://${name}:${port}`] }], lookup: async () => ["127.0.0.1"] });

  test("to a server whose certificate nobody vouches for fails", async () => {
    await using session = open("tls.example");
    const error = await session.request(`https://tls.example:${port}`).catch((reason: unknown) => String(reason));
    expect(error).toBe(`FetchFailure: GET https://tls.example:${port}: the server's certificate is not trusted`);
  });

  test("and a WebSocket are answered where the certificate is good, and fail where it is another name's", async () => {
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, cert]);
    try {
      await using session = open("tls.example");
      expect((await session.whole(`https://tls.example:${port}`)).text).toBe(`got tls.example:${port}`);
      const { id } = await session.connect(`wss://tls.example:${port}`);
      expect(await session.receive(id)).toEqual({ text: `for tls.example:${port}` });
      await using other = open("other.example");
      await expect(other.connect(`wss://other.example:${port}`)).rejects.toThrow("certificate is not trusted");
      await expect(other.request(`https://other.example:${port}`)).rejects.toThrow("certificate is not trusted");
    } finally {
      setDefaultCACertificates(before);
    }
  });

  test("to a port where nobody speaks it fails", async () => {
    await using plain = await serve((_request, response) => response.end());
    const origin = plain.origin.replace("http:", "https:");
    await using session = new Session({ rules: [{ privateOrigins: [origin] }] });
    await expect(session.request(origin)).rejects.toThrow("the TLS handshake failed");
  });
});
