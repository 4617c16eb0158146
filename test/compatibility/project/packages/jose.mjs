import { createHmac, createSecretKey } from "node:crypto";
import { decodeJwt, EncryptJWT, errors, jwtDecrypt, jwtVerify, SignJWT } from "jose";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const secret = new TextEncoder().encode("a secret that is long enough: 32");
const key = createSecretKey(secret);
const token =
  "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYWRtaW4iLCJzdWIiOiJhZGEifQ." +
  createHmac("sha256", secret)
    .update("eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYWRtaW4iLCJzdWIiOiJhZGEifQ")
    .digest("base64url");
const unsigned = new SignJWT({ role: "user" }).setProtectedHeader({ alg: "HS256" });

void check({
  binding: () => routine(async () => (await jwtVerify(token, secret)).payload)(),
  instance: () => routine(async () => decodeJwt(await unsigned.sign(secret)).role)(),
  argument: () => routine(async (it) => decodeJwt(await it.sign(secret)).role)(unsigned),
  key: () => routine(async (it) => (await jwtVerify(token, it)).payload.sub)(key),
  result: async () => {
    const made = await routine(() =>
      new EncryptJWT({ a: 1 }).setProtectedHeader({ alg: "dir", enc: "A128CBC-HS256" }).encrypt(secret),
    )();
    return (await jwtDecrypt(made, secret)).payload;
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => jwtVerify(token, secret, { subject: "bob" }))());
    return [error instanceof errors.JWTClaimValidationFailed, error.code, error.claim, error.payload.sub];
  },
});
