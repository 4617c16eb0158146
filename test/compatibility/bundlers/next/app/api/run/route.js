import { run } from "../../../../src/run.js";

export const dynamic = "force-dynamic";

export async function GET() {
  return Response.json(await run());
}
