//! Days of the proleptic Gregorian calendar, years 0 to 9999.
//!
//! Counted from 0000-03-01 in eras of 400 years (146,097 days), so that the leap day is a year's last.

/// Days since 1970 of 0000-03-01.
const MARCH_0: i64 = -719_468;
const ERA_DAYS: i64 = 146_097;

/// Days since 1970 of the years 0 to 9999.
pub const DAYS: std::ops::Range<i64> = -719_528..2_932_897;

/// Year, month and day of `days` since 1970.
pub fn civil(days: i64) -> (i64, i64, i64) {
    let from_march = days - MARCH_0;
    let era = from_march.div_euclid(ERA_DAYS);
    let day_of_era = from_march.rem_euclid(ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970; `month` 1 to 12 and `day` as a calendar has them.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year + MARCH_0
}

/// Days of a month of 1 to 12.
pub fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_date_and_follows_the_one_before() {
        let mut before = civil(DAYS.start - 1);
        for days in DAYS {
            let date = civil(days);
            assert_eq!(days_of(date.0, date.1, date.2), days);
            assert!(date > before, "{date:?} after {before:?}");
            before = date;
        }
        assert_eq!(civil(DAYS.start), (0, 1, 1));
        assert_eq!(before, (9999, 12, 31));
        assert_eq!(civil(0), (1970, 1, 1));
    }
    #[test]
    fn a_month_ends_where_the_next_one_begins() {
        for year in 0..9999 {
            for month in 1..=12 {
                let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                assert_eq!(
                    days_of(year, month, 1) + days_in(year, month),
                    days_of(next_year, next, 1),
                    "{year}-{month}"
                );
            }
        }
    }
}
