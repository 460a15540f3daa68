use super::*;

#[test]
fn every_type_has_its_entry_under_its_name() {
    for (at, entry) in TYPES.iter().enumerate() {
        assert_eq!(entry.ty as usize, at);
        assert_eq!(serde_json::to_value(entry.ty).unwrap(), entry.name);
        assert_eq!(entry.ty.forms().is_some(), matches!(entry.holds, Holds::Spelled), "{}", entry.name);
    }
}

#[test]
fn a_whole_number_has_the_range_of_its_bits() {
    assert_eq!(I16.range(), Some((i16::MIN.into(), i16::MAX.into())));
    assert_eq!(I64.range(), Some((i64::MIN, i64::MAX)));
    assert_eq!(U32.range(), Some((0, u32::MAX.into())));
    assert_eq!((U64.range(), F64.range()), (Some((0, i64::MAX)), None));
}

#[test]
fn a_spelled_type_has_one_form_of_each_value_in_text_and_binary() {
    struct Checked;
    impl Visitor for Checked {
        type Out = ();
        fn of<T: Spelled>(self) {
            let forms = T::FORMS;
            let mut text = Vec::new();
            (forms.push)(forms.zero.as_bytes(), &mut text).unwrap();
            assert_eq!(text, forms.zero.as_bytes());
            let cell = T::cell(&text).unwrap();
            assert!(forms.postgresql.width.is_none_or(|width| cell.as_ref().len() == width));
            assert_eq!(cell.as_ref().len(), T::cell_bytes(&text));
            let mut back = Vec::new();
            (forms.postgresql.push)(cell.as_ref(), &mut back).unwrap();
            assert_eq!(back, text);
            for none in [&b""[..], b"x", b"\0"] {
                assert_eq!(((forms.push)(none, &mut back), T::cell(none).is_some()), (None, false));
                assert_eq!((forms.postgresql.push)(none, &mut back), None);
                assert_eq!(back, text, "nothing is appended");
            }
        }
    }
    TYPES.iter().filter(|entry| entry.ty.forms().is_some()).for_each(|entry| entry.ty.visit(Checked));
}
