use super::*;

#[test]
fn a_type_is_read_from_its_own_name() {
    let decimals = [(9, 0), (18, 18), (38, 5)].map(|(precision, scale)| Plain::Decimal { precision, scale });
    let lists = [(Item::Int16, false), (Item::String, true), (Item::Int64, true)]
        .map(|(item, nullable)| Plain::List { item, nullable });
    for plain in NAMES.map(|(plain, _)| plain).into_iter().chain(decimals).chain(lists) {
        for nullable in [false, true] {
            let ty = ChType { plain, nullable };
            assert_eq!(ChType::parse(&ty.name()), Some(ty));
        }
    }
    for other in [
        "Nullable(Array(Int64))",
        "Array(DateTime)",
        "Array(Nullable(Array(Int16)))",
        "Nullable(Nullable(Int16))",
        "DateTime",
        "Decimal(39, 0)",
        "Decimal(3, 4)",
        "",
    ] {
        assert_eq!(ChType::parse(other), None, "{other}");
    }
}
