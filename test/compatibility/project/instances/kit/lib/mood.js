class Calm {
  say() {
    return "calm";
  }
}
class Busy {
  say() {
    return "busy";
  }
}

/** What it is depends on the process. */
module.exports = process.env.KIT_MOOD === "busy" ? new Busy() : new Calm();
