import { DatabaseError, DataTypes, Op, Sequelize, ValidationError } from "sequelize";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const where = { age: { [Op.gt]: 5 } };
const part = Sequelize.fn("lower", Sequelize.col("name"));
const type = new DataTypes.STRING(40);

void check({
  binding: () => routine(() => [typeof Sequelize.literal("1").val, DataTypes.INTEGER.key])(),
  operators: () => routine(() => where.age[Op.gt])(),
  instance: () => routine(() => [part.fn, part.args[0].col])(),
  argument: () => routine((it) => [it instanceof DataTypes.STRING, it.toSql()])(type),
  result: async () => (await routine(() => Sequelize.literal("now()"))()).val,
  thrown: async () => {
    const error = await reasonOf(
      routine(() => {
        throw new ValidationError("not valid", []);
      })(),
    );
    return [error instanceof ValidationError, error instanceof DatabaseError, error.name, error.message];
  },
});
