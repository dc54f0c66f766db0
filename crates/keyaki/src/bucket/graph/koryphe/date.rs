//! Dates as Koryphe reads them: epoch milliseconds, or `yyyy/MM[/dd[ HH[:mm[:ss[.SSS]]]]]` with any of `/_.:-|`
//! and spaces between the parts. Times are in UTC, or at an offset such as `GMT+1` or `+01:00`.

use crate::error::{Error, Result};

const DAY_MS: i64 = 86_400_000;

/// Java's short names of zones that have no summer time, with minutes ahead of UTC.
const FIXED_ZONES: [(&str, i64); 15] = [
    ("HST", -600),
    ("MST", -420),
    ("PNT", -420),
    ("EST", -300),
    ("PRT", -240),
    ("CAT", 120),
    ("EAT", 180),
    ("PLT", 300),
    ("IST", 330),
    ("BST", 360),
    ("VST", 420),
    ("CTT", 480),
    ("JST", 540),
    ("ACT", 570),
    ("SST", 660),
];

/// How Gaffer writes when a graph was made.
pub const CREATED: &str = "yyyy-MM-ddTHH:mm:ss.SSS";

/// Year, month and day of a day counted from 1970.
pub(in crate::bucket::graph) fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // Days are counted from 1 March of year 0, so that a leap day ends its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month as u32, day as u32)
}

/// Undoes [`civil_from_days`]; months and days beyond their end run on, as Java's lenient calendar has it.
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let months = year * 12 + (month - 1);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Milliseconds of a date as Koryphe accepts it, read at `offset_ms` from UTC.
///
/// # Errors
/// `Invalid` for anything else.
pub fn parse(text: &str, offset_ms: i64) -> Result<i64> {
    let wrong = || Error::invalid("a date can't be read").with("date", text);
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| wrong());
    }
    let digits: String = text.chars().filter(|char| !"/_.:-| ".contains(*char)).collect();
    let shaped = matches!(digits.len(), 6 | 8 | 10 | 12 | 14 | 17);
    if !shaped || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let field = |from: usize, len: usize, absent: i64| {
        digits.get(from..from + len).map_or(absent, |part| part.parse().unwrap_or(absent))
    };
    let days = days_from_civil(field(0, 4, 0), field(4, 2, 1), field(6, 2, 1));
    let seconds = (field(8, 2, 0) * 60 + field(10, 2, 0)) * 60 + field(12, 2, 0);
    Ok(days * DAY_MS + seconds * 1000 + field(14, 3, 0) - offset_ms)
}

/// Milliseconds of a date in one of Java's patterns, of which `yyyy MM dd HH mm ss SSS` are known.
///
/// # Errors
/// `Invalid` if text and pattern do not go together, or the pattern has other letters.
pub fn parse_with(text: &str, pattern: &str, offset_ms: i64) -> Result<i64> {
    let wrong =
        || Error::invalid("a date can't be read").with("date", text).with("format", pattern);
    let (mut year, mut month, mut day, mut clock) = (1970, 1, 1, [0i64; 4]);
    let mut rest = text;
    for (letter, count) in runs(pattern) {
        if !letter.is_ascii_alphabetic() {
            let literal = letter.to_string().repeat(count);
            rest = rest.strip_prefix(literal.as_str()).ok_or_else(wrong)?;
            continue;
        }
        let len = rest.bytes().take(count.max(2)).take_while(u8::is_ascii_digit).count();
        let number: i64 = rest.get(..len).and_then(|part| part.parse().ok()).ok_or_else(wrong)?;
        rest = &rest[len..];
        match letter {
            'y' => year = number,
            'M' => month = number,
            'd' => day = number,
            'H' => clock[0] = number,
            'm' => clock[1] = number,
            's' => clock[2] = number,
            'S' => clock[3] = number,
            _ => return Err(wrong()),
        }
    }
    let seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2];
    Ok(days_from_civil(year, month, day) * DAY_MS + seconds * 1000 + clock[3] - offset_ms)
}

/// Shows a time in one of Java's patterns, with the letters of [`parse_with`].
#[must_use]
pub fn format_with(millis: i64, pattern: &str) -> String {
    let (year, month, day) = civil_from_days(millis.div_euclid(DAY_MS));
    let of_day = millis.rem_euclid(DAY_MS);
    let mut shown = String::new();
    for (letter, count) in runs(pattern) {
        let number = match letter {
            'y' if count == 2 => year % 100,
            'y' => year,
            'M' => month.into(),
            'd' => day.into(),
            'H' => of_day / 3_600_000,
            'm' => of_day / 60_000 % 60,
            's' => of_day / 1000 % 60,
            'S' => of_day % 1000,
            '\'' => continue,
            other => {
                shown.extend(std::iter::repeat_n(other, count));
                continue;
            }
        };
        shown += &format!("{number:0count$}");
    }
    shown
}

/// Equal characters that follow each other, and how many.
fn runs(pattern: &str) -> Vec<(char, usize)> {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for letter in pattern.chars().filter(|letter| *letter != '\'') {
        match runs.last_mut() {
            Some((last, count)) if *last == letter => *count += 1,
            _ => runs.push((letter, 1)),
        }
    }
    runs
}

/// The offset of a time zone that needs no table: UTC, GMT, `GMT+1`, `+01:00`, `EST`.
///
/// # Errors
/// `Invalid` for others.
pub fn zone_offset_ms(zone: &str) -> Result<i64> {
    let wrong = || Error::invalid("only UTC and offsets from it are known").with("timeZone", zone);
    if let Some((_, minutes)) = FIXED_ZONES.iter().find(|(name, _)| *name == zone) {
        return Ok(minutes * 60_000);
    }
    // Under `Etc/` plus is west, as POSIX has it.
    let (zone_name, ahead) = match zone.strip_prefix("Etc/") {
        Some(name) => (name, -1),
        None => (zone, 1),
    };
    let offset = zone_name.trim_start_matches("UTC").trim_start_matches("GMT");
    let sign = match offset.chars().next() {
        None | Some('Z' | '0') => return Ok(0),
        Some('+') => ahead,
        Some('-') => -ahead,
        _ => return Err(wrong()),
    };
    let digits: String = offset[1..].chars().filter(|char| *char != ':').collect();
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    let (hours, minutes) =
        if digits.len() > 2 { (number / 100, number % 100) } else { (number, 0) };
    Ok(sign * (hours * 60 + minutes) * 60_000)
}

/// Milliseconds in one of Koryphe's units; micro- and nanoseconds are fractions of one.
///
/// # Errors
/// `Invalid` for an unknown unit.
pub fn unit_ms(name: &str) -> Result<f64> {
    Ok(match name {
        "DAY" => DAY_MS as f64,
        "HOUR" => 3_600_000.0,
        "MINUTE" => 60_000.0,
        "SECOND" => 1000.0,
        "MILLISECOND" => 1.0,
        "MICROSECOND" => 0.001,
        _ => return Err(Error::invalid("an unknown unit of time").with("unit", name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_koryphe_reads_them() {
        let parse = |text| parse(text, 0).unwrap();
        assert_eq!(parse("1970/01"), 0);
        assert_eq!(parse("2024-01-01"), 1_704_067_200_000);
        assert_eq!(parse("2024-02-29 23:59:59.999"), 1_709_251_199_999);
        assert_eq!(parse("1704067200000"), 1_704_067_200_000);
        assert!(super::parse("last week", 0).is_err());
        assert_eq!(parse_with("01/02/2024", "dd/MM/yyyy", 0).unwrap(), 1_706_745_600_000);
        assert_eq!(
            format_with(1_706_745_600_001, "yyyy-MM-dd HH:mm:ss.SSS"),
            "2024-02-01 00:00:00.001"
        );
        assert_eq!(zone_offset_ms("GMT+1").unwrap(), 3_600_000);
        assert_eq!(zone_offset_ms("Etc/GMT+5").unwrap(), -5 * 3_600_000);
        assert_eq!(zone_offset_ms("EST").unwrap(), -5 * 3_600_000);
        for zone in ["GMT", "UTC", "Etc/UTC", "Etc/GMT+0", "GMT0", "Z"] {
            assert_eq!(zone_offset_ms(zone).unwrap(), 0, "{zone}");
        }
        assert!(zone_offset_ms("Europe/London").is_err(), "which has a summer time");
        for days in [-800_000, -1, 0, 59, 60, 365, 19_782, 800_000] {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month.into(), day.into()), days);
        }
    }
}
