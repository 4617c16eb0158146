export async function open() {
  return { close: async () => {} };
}
