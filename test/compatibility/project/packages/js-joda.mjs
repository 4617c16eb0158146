import {
  ChronoField,
  DateTimeFormatter,
  DateTimeParseException,
  DayOfWeek,
  Duration,
  LocalDate,
  LocalDateTime,
  ZonedDateTime,
  ZoneOffset,
} from "@js-joda/core";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const noon = ZonedDateTime.of(LocalDateTime.of(2024, 2, 29, 12, 0), ZoneOffset.UTC);
const pattern = DateTimeFormatter.ofPattern("yyyy/MM/dd");
const look = (it) => [it instanceof ZonedDateTime, it.zone() === ZoneOffset.UTC, it.plusDays(1).toString()];
const isOwn = (utc, day, field, zero) => [
  utc === ZoneOffset.UTC,
  day === DayOfWeek.MONDAY && day.plus(1) === DayOfWeek.TUESDAY,
  field === ChronoField.YEAR_OF_ERA,
  zero === Duration.ZERO,
];
const constants = () => [ZoneOffset.UTC, DayOfWeek.MONDAY, ChronoField.YEAR_OF_ERA, Duration.ZERO];

void check({
  binding: () => routine(() => LocalDate.of(2024, 2, 29).plusYears(1).toString())(),
  instance: () => routine(() => [look(noon), noon.format(pattern)])(),
  argument: () => routine((it, format) => [look(it), it.format(format)])(noon, pattern),
  result: async () => look(await routine(() => noon.minusDays(1))()),
  "constants as arguments": () => routine(isOwn)(...constants()),
  "constants in a result": async () => isOwn(...(await routine(constants)())),
  thrown: async () => {
    const error = await reasonOf(routine(() => LocalDate.parse("tomorrow"))());
    return [error instanceof DateTimeParseException, error.name, error.message];
  },
});
