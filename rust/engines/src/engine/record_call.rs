//! A call by key as images of rows: which column of which row each parameter is, without any client library.

use inrush_rows::encode::record::Record;
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::Value;

/// Each parameter's field and row, and how many rows a call has.
pub type Placed = (Vec<(usize, Option<usize>)>, usize);

/// A column that comes once is the same of all rows; one that comes more often has a value for each.
pub fn placed(record: &Record, columns: &[String]) -> Result<Placed, String> {
    let times = |name: &String| columns.iter().filter(|other| *other == name).count();
    let rows = columns.iter().map(times).max().unwrap_or(0);
    if rows == 0 {
        return Err("`record` names no column of the key".into());
    }
    let mut seen = vec![0; record.fields.len()];
    let mut params = Vec::with_capacity(columns.len());
    for name in columns {
        let field = record.place(name).ok_or_else(|| format!("its table has no column {name}"))?;
        match times(name) {
            1 => params.push((field, None)),
            many if many == rows => params.push((field, Some(seen[field]))),
            many => return Err(format!("{name} comes {many} times, others {rows} times")),
        }
        seen[field] += 1;
    }
    Ok((params, rows))
}

/// The first column of the key that no parameter is a value of.
pub fn unset<'t>(
    table: &'t TablePlan,
    record: &Record,
    params: &[(usize, Option<usize>)],
) -> Option<&'t String> {
    let is_set = |name: &String| params.iter().any(|(field, _)| record.fields[*field].name == *name);
    table.identity.iter().find(|name| !is_set(name))
}

/// Writes the values of a call into images of its rows. An error says what does not fit.
#[inline]
pub fn bind(
    record: &Record,
    places: &[(usize, Option<usize>)],
    rows: usize,
    params: &[Value],
    keys: &mut [u8],
) -> Result<(), String> {
    if params.len() != places.len() {
        return Err(format!("{} parameters for {} places", params.len(), places.len()));
    }
    let bytes = record.bytes as usize;
    for (value, &(field, row)) in params.iter().zip(places) {
        let field = &record.fields[field];
        match row {
            Some(row) => field.write(value, &mut keys[row * bytes..(row + 1) * bytes])?,
            None => keys[..rows * bytes]
                .chunks_exact_mut(bytes)
                .try_for_each(|image| field.write(value, image))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> (TablePlan, Record) {
        let columns =
            ["a", "b", "c"].map(|name| serde_json::json!({"name": name, "type": "u32", "wire": "Unsigned"}));
        let table: TablePlan = serde_json::from_value(serde_json::json!({"name": "t", "stream": "t",
            "columns": columns, "identity": ["a", "b"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1}}))
        .expect("it is written here");
        let record = Record::of(&table).expect("they are numbers");
        (table, record)
    }

    fn names(of: &str) -> Vec<String> {
        of.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_column_that_comes_once_is_of_every_row_and_others_are_lists() {
        let (_, record) = record();
        assert_eq!(placed(&record, &names("a b")), Ok((vec![(0, None), (1, None)], 1)));
        let lists = vec![(0, Some(0)), (1, Some(0)), (0, Some(1)), (1, Some(1))];
        assert_eq!(placed(&record, &names("a b a b")), Ok((lists, 2)));
        let shared = vec![(0, None), (1, Some(0)), (1, Some(1)), (1, Some(2))];
        assert_eq!(placed(&record, &names("a b b b")), Ok((shared, 3)));
        assert!(placed(&record, &names("a a b b b"))
            .unwrap_err()
            .contains("a comes 2 times, others 3 times"));
        assert!(placed(&record, &names("a d")).unwrap_err().contains("no column d"));
        assert!(placed(&record, &[]).is_err());
    }

    #[test]
    fn a_key_without_a_value_is_named() {
        let (table, record) = record();
        assert_eq!(unset(&table, &record, &[(0, None), (2, None)]), Some(&"b".to_owned()));
        assert_eq!(unset(&table, &record, &[(0, None), (1, None)]), None);
    }
}
