let calls = 0;
const api = {
  name: "api",
  state: { hits: [1] },
  double(n) {
    return n * 2;
  },
  count() {
    calls += 1;
    return calls;
  },
};

module.exports = api;
