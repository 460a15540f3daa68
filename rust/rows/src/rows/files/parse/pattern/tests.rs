use super::*;

fn read(pattern: &str, text: &str) -> Option<String> {
    let mut iso = [0; 64];
    let length = Pattern::new(pattern).expect("a pattern").iso(text.as_bytes(), &mut iso)?;
    Some(String::from_utf8(iso[..length].to_vec()).unwrap())
}

#[test]
fn a_time_is_read_as_its_pattern_says() {
    for (pattern, text, iso) in [
        ("%d.%m.%y", "31.01.26", "2026-01-31"),
        ("%d.%m.%y", "1.2.69", "1969-02-01"),
        ("%Y%m%d", "20260131", "2026-01-31"),
        ("%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0730", "2000-10-10 13:55:36-07:30"),
        ("%A, %d %B %Y", "Saturday, 31 January 2026", "2026-01-31"),
        ("%a %b %e %H:%M:%S %Y", "sat JAN  3 10:00:00 2026", "2026-01-03 10:00:00"),
        ("%m/%d/%Y %I:%M %p", "1/31/2026 12:05 AM", "2026-01-31 00:05:00"),
        ("%m/%d/%Y %I:%M %p", "1/31/2026 12:05 pm", "2026-01-31 12:05:00"),
        ("%D %R", "1/31/26 23:59", "2026-01-31 23:59:00"),
        ("%Y-%j", "2024-366", "2024-12-31"),
        ("%FT%T.%f%z", "2026-01-31T10:00:00.250+01:30", "2026-01-31 10:00:00.250+01:30"),
        ("%F %T %Z", "2026-01-31 10:00:00 GMT", "2026-01-31 10:00:00+00:00"),
        ("%F %T%z", "2026-01-31 10:00:00+01", "2026-01-31 10:00:00+01:00"),
        ("%d.%m.%Y %% %T", "31.01.2026 % 10:00:00", "2026-01-31 % 10:00:00".replace(" %", "").as_str()),
    ] {
        assert_eq!(read(pattern, text).as_deref(), Some(iso), "{pattern} of {text}");
    }
}

#[test]
fn what_is_of_another_form_or_no_day_is_none() {
    for (pattern, text) in [
        ("%d.%m.%Y", "31.01.26"),
        ("%d.%m.%Y", "31.02.2026"),
        ("%d.%m.%Y", "01.13.2026"),
        ("%d.%m.%Y", "1.1.2026 "),
        ("%d.%m.%Y", "x1.1.2026"),
        ("%d.%m.%Y", ""),
        ("%Y-%j", "2026-366"),
        ("%Y-%j", "2026-0"),
        ("%d.%m.%y", "1.1.2026"),
        ("%F %I:%M %p", "2026-01-31 13:00 PM"),
        ("%F %I:%M %p", "2026-01-31 00:00 AM"),
        ("%F %T", "2026-01-31 24:00:00"),
        ("%F %T", "2026-01-31 10:60:00"),
        ("%F %T", "2026-01-31 10:00:60"),
        ("%F %T", "2026-01-3110:00:00"),
        ("%F %T%z", "2026-01-31 10:00:00"),
        ("%F %T%z", "2026-01-31 10:00:00+1"),
        ("%F %T%z", "2026-01-31 10:00:00+16:00"),
        ("%F %T%z", "2026-01-31 10:00:00+01:60"),
        ("%F %T.%f", "2026-01-31 10:00:00."),
        ("%F %T.%f", "2026-01-31 10:00:00.1234567890"),
        ("%d %b %Y", "31 Janu 2026"),
        ("%F %T %Z", "2026-01-31 10:00:00 CET"),
        ("%Y%m%d", "2026131"),
        ("%Y%m%d", "2026111"),
        ("%F %H%M%S", "2026-01-31 10203"),
        ("%F %H%M", "2026-01-31 1020x"),
        ("%Y%j", "202631"),
        ("%Y %m1%d", "2026 1115"),
        ("%a %F", "Xyz 2026-01-31"),
    ] {
        assert_eq!(read(pattern, text), None, "{pattern} of {text}");
    }
}

#[test]
fn a_pattern_makes_days_or_times_by_its_parts() {
    for (pattern, ty) in
        [("%F", LogicalType::Date), ("%F %R", LogicalType::TimeMs), ("%F %T.%f", LogicalType::TimeUs)]
    {
        assert_eq!(Pattern::new(pattern).unwrap().holds(), ty, "{pattern}");
    }
}

#[test]
fn a_pattern_without_a_day_or_with_another_sign_is_refused() {
    for (pattern, why) in [
        ("%H:%M", "has no year, month and day"),
        ("%d.%m.", "has no year"),
        ("%Y-%m", "has no year, month and day"),
        ("dd.mm.yyyy", "has no year"),
        ("%F %Q", "%Q is no sign"),
        ("%F %", "% is no sign"),
        ("%F %I:%M", "%I and %p go together"),
        ("%F %H %p", "%I and %p go together"),
        ("%F%z", "%z needs %H or %I"),
        ("%F %Z", "%Z needs %H or %I"),
        ("%F %M:%S", "%M needs %H or %I"),
        ("%F %H:%S", "%S needs %M"),
        ("%F %H:%M.%f", "%f needs %S"),
        ("%j %F", "twice"),
        ("%F %Y", "twice"),
        ("%F %H %I %p", "twice"),
        ("%F %R%z %Z", "twice"),
        ("%Y-%j %d", "twice"),
        ("%F %é", "%é is no sign"),
    ] {
        let said = Pattern::new(pattern).expect_err(pattern);
        assert!(said.contains(why), "{pattern}: {said}");
    }
}
