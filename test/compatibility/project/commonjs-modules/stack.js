module.exports = class Stack {
  items = [];
  push(item) {
    this.items.push(item);
    return this;
  }
  get size() {
    return this.items.length;
  }
};
