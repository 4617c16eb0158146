import { IsInt, MinLength } from "class-validator";

export class User {
  @IsInt()
  readonly id: number;

  @MinLength(2)
  readonly name: string;

  constructor(id: number, name: string) {
    this.id = id;
    this.name = name;
  }
}
