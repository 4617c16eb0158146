let uses = 0;

function use(): number {
  uses += 1;
  return uses;
}

export = { use };
