//! The formats of values: what they read, what they write, what they refuse, and that nothing makes them panic.

use chadwick::values::{Elements, Place, Prim, Value, ValueError, ValueType, binary, element_count, json, npy, text};
use half::f16;
use proptest::prelude::*;

fn parse(input: &str) -> Value {
    let mut values = text::parse_values(input.as_bytes()).unwrap_or_else(|error| panic!("{input}: {error}"));
    assert_eq!(values.len(), 1, "{input}");
    values.remove(0)
}

fn refusal(input: &str) -> String {
    text::parse_values(input.as_bytes()).expect_err(input).to_string()
}

#[test]
fn scalars_have_the_type_of_their_suffix() {
    assert_eq!(parse("1"), Value::from(1i32));
    assert_eq!(parse("-1"), Value::from(-1i32));
    assert_eq!(parse("1.5"), Value::from(1.5));
    assert_eq!(parse("1e3"), Value::from(1000.0));
    assert_eq!(parse("2f32"), Value::from(2.0f32));
    assert_eq!(parse("0.5f16"), Value::from(f16::from_f32(0.5)));
    assert_eq!(parse("255u8"), Value::from(255u8));
    assert_eq!(parse("-9223372036854775808i64"), Value::from(i64::MIN));
    assert_eq!(parse("18446744073709551615u64"), Value::from(u64::MAX));
    assert_eq!(parse("0xFFu8"), Value::from(255u8));
    assert_eq!(parse("0b101i16"), Value::from(5i16));
    assert_eq!(parse("1_000i64"), Value::from(1000i64));
    assert_eq!(parse("true"), Value::from(true));
    assert_eq!(parse("-f32.inf"), Value::from(f32::NEG_INFINITY));
    assert!(parse("f64.nan").as_scalar::<f64>().is_some_and(f64::is_nan));
}

#[test]
fn arrays_have_the_type_of_each_rows_first_element() {
    assert_eq!(parse("[1f32, 2, 0.5]"), Value::from(vec![1.0f32, 2.0, 0.5]));
    assert_eq!(parse("[1.0, 2]"), Value::from(vec![1.0, 2.0]));
    assert_eq!(parse("[[0i64, 1], [2i64, 3]]"), Value::new([2, 2], vec![0i64, 1, 2, 3]).unwrap());
    assert_eq!(parse("[true, false]"), Value::from(vec![true, false]));
    assert_eq!(parse("\"a\\n\\\"\""), Value::from(b"a\n\"".to_vec()));
    assert_eq!(parse("[\"ab\", \"cd\"]"), Value::new([2, 2], b"abcd".to_vec()).unwrap());
    assert_eq!(parse("empty([0]i32)"), Value::new([0], Vec::<i32>::new()).unwrap());
    assert_eq!(parse("empty( [3][0]f64 )").shape(), [3, 0]);
    assert_eq!(parse("[ -- a comment\n 1,\n 2 ]"), Value::from(vec![1, 2]));
}

#[test]
fn refusals_say_where_and_why() {
    assert_eq!(
        refusal("[[0i64, 1], [2, 3]]"),
        "line 1, column 14: this array is irregular or of multiple types: every row states its type with its first element"
    );
    assert_eq!(refusal("[1,\n [2]]"), "line 2, column 2: this array is irregular or of multiple types");
    assert_eq!(refusal("[[1, 2], [3]]"), "line 1, column 12: this array is irregular or of multiple types");
    assert_eq!(refusal("[]"), "line 1, column 1: an empty array is written with its type, as in `empty([0]i32)`");
    assert_eq!(refusal("empty([1]i32)"), "line 1, column 1: an empty array has at least one dimension of size 0");
    assert_eq!(refusal("[1, 2"), "line 1, column 6: expected `,` or `]` in an array, found the end");
    assert_eq!(refusal("[1, 2.5]"), "line 1, column 5: `2.5` is no i32");
    assert_eq!(refusal("300i9"), "line 1, column 4: `i9` is no type of a number");
    assert_eq!(refusal("300u8"), "line 1, column 1: 300 does not fit in u8");
    assert_eq!(refusal("3000000000"), "line 1, column 1: 3000000000 does not fit in i32");
    assert_eq!(refusal("\"abc"), "line 1, column 1: this string is not closed");
    assert_eq!(refusal("1 foo"), "line 1, column 3: expected a value, found `foo`");
    assert_eq!(refusal(&"[".repeat(100_000)), "line 1, column 65: an array of more than 64 dimensions");
    assert_eq!(refusal("99999999999999999999999999999999999999999999999999"), {
        "line 1, column 1: `99999999999999999999999999999999999999999999999999` does not fit in i32"
    });
}

#[test]
fn unsuffixed_numbers_take_the_expected_type() {
    let expected =
        [ValueType { prim: Prim::F64, rank: 0 }, ValueType { prim: Prim::I64, rank: 1 }, ValueType { prim: Prim::I64, rank: 0 }];
    let values = text::parse_values_as(b"1 [2, 3] 1.5", &expected).unwrap();
    // A fraction is no integer, whatever is expected.
    assert_eq!(values, [Value::from(1.0), Value::from(vec![2i64, 3]), Value::from(1.5)]);
}

#[test]
fn floats_print_shortest() {
    assert_eq!(Value::from(0.1).to_string(), "0.1f64");
    assert_eq!(Value::from(0.1f32).to_string(), "0.1f32");
    assert_eq!(Value::from(f16::from_f64(0.1)).to_string(), "0.1f16");
    assert_eq!(Value::from(1e300).to_string(), "1e300f64");
    assert_eq!(Value::from(-0.0).to_string(), "-0.0f64");
    assert_eq!(Value::from(f64::NEG_INFINITY).to_string(), "-f64.inf");
    assert_eq!(Value::new([2, 0], Vec::<u8>::new()).unwrap().to_string(), "empty([2][0]u8)");
}

#[test]
fn text_and_binary_values_may_alternate() {
    let mut input = b"1i32 ".to_vec();
    binary::write_value(&Value::from(vec![2.5, 3.5]), &mut input);
    input.extend(b" [true]");
    let values = text::parse_values(&input).unwrap();
    assert_eq!(values, [Value::from(1i32), Value::from(vec![2.5, 3.5]), Value::from(vec![true])]);
}

#[test]
fn broken_binary_values_are_refused_without_allocating() {
    let mut whole = Vec::new();
    binary::write_value(&Value::new([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap(), &mut whole);
    for length in 0..whole.len() {
        assert!(binary::parse_value(&whole[..length]).is_err(), "{length}");
    }
    let mut huge = b"b\x02\x02 f64".to_vec();
    huge.extend([0xFF; 16]);
    let error = binary::parse_value(&huge).unwrap_err();
    assert_eq!(error.place, Place::Byte(23));
    let error = binary::parse_value(b"b\x02\x00boolx").unwrap_err();
    assert_eq!(error.to_string(), "byte 7: a boolean is 0 or 1");
    assert_eq!(binary::parse_value(b"b\x07").unwrap_err().place, Place::Byte(1));
}

fn named(parameters: &[(&str, Prim, usize)]) -> Vec<(String, ValueType)> {
    parameters.iter().map(|(name, prim, rank)| ((*name).to_owned(), ValueType { prim: *prim, rank: *rank })).collect()
}

#[test]
fn json_arguments_come_by_name_in_order_or_alone() {
    let two = named(&[("x", Prim::F64, 1), ("n", Prim::I64, 0)]);
    let wanted = vec![Value::from(vec![1.0, 2.5]), Value::from(3i64)];
    assert_eq!(json::parse_arguments(br#"{"n": 3, "x": [1, 2.5]}"#, &two), Ok(wanted.clone()));
    assert_eq!(json::parse_arguments(b"[[1, 2.5], 3]", &two), Ok(wanted));
    let record = named(&[("p.x", Prim::F64, 0), ("p.q.n", Prim::I64, 0), ("y", Prim::F64, 0)]);
    let wanted = vec![Value::from(1.0), Value::from(3i64), Value::from(2.0)];
    assert_eq!(json::parse_arguments(br#"{"y": 2, "p": {"q": {"n": 3}, "x": 1}}"#, &record), Ok(wanted.clone()));
    assert_eq!(json::parse_arguments(br#"{"p.x": 1, "y": 2, "p.q": {"n": 3}}"#, &record), Ok(wanted));
    let one = named(&[("x", Prim::F32, 1)]);
    assert_eq!(json::parse_arguments(b"[1, \"inf\"]", &one), Ok(vec![Value::from(vec![1.0f32, f32::INFINITY])]));
    assert_eq!(json::parse_arguments(b"[[1, 2]]", &one), Ok(vec![Value::from(vec![1.0f32, 2.0])]));
    assert_eq!(json::parse_arguments(b"[]", &one), Ok(vec![Value::from(Vec::<f32>::new())]));
}

#[test]
fn json_refusals_say_where() {
    let two = named(&[("x", Prim::F64, 2), ("n", Prim::U8, 0)]);
    let refusal = |text: &str| json::parse_arguments(text.as_bytes(), &two).expect_err(text).to_string();
    assert_eq!(refusal(r#"{"x": [[1, 2], [3"#), "line 1, column 17: malformed JSON: EOF while parsing a list");
    assert_eq!(refusal(r#"{"x": [[1, 2], [3]], "n": 1}"#), "x[1]: an array of 1 elements where the others have 2");
    assert_eq!(refusal(r#"{"x": [[1], ["a"]], "n": 1}"#), "x[1][0]: expected a value of type f64, found a string");
    assert_eq!(refusal(r#"{"x": [[1]], "n": 256}"#), "n: expected a value of type u8, found 256");
    assert_eq!(refusal(r#"{"x": [[1]], "n": 1.5}"#), "n: expected a value of type u8, found 1.5");
    assert_eq!(refusal(r#"{"x": [[1]]}"#), "there is no field `n`");
    assert_eq!(refusal(r#"{"x": [[1]], "n": 1, "m": 2}"#), "there is no parameter for the field `m`");
    assert_eq!(refusal(r#"{"x": [[1]], "n": 1, "m": {"k": 2}}"#), "there is no parameter for the field `m.k`");
    assert_eq!(refusal("3"), "arguments are an object with a field per parameter, or an array");
    assert!(refusal(&"[".repeat(1_000_000)).contains("line 1, column 128"));
}

/// What NumPy 2 writes for `np.save(f, np.asfortranarray([[1., 2., 3.], [4., 5., 6.]]))`, with big endian elements.
fn fortran_order_file() -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }";
    file.extend(format!("{header:<117}\n").bytes());
    file.extend([1.0f64, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|x| x.to_be_bytes()));
    file
}

#[test]
fn npy_in_fortran_order_and_big_endian() {
    let value = npy::parse(&fortran_order_file()).unwrap();
    assert_eq!(value, Value::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap());
}

#[test]
fn broken_npy_files_are_refused() {
    let whole = npy::write(&Value::from(vec![1.0, 2.0]));
    assert_eq!(whole.len() % 64, 16);
    for length in 0..whole.len() {
        assert!(npy::parse(&whole[..length]).is_err(), "{length}");
    }
    let refusal = |header: &str| {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.bytes());
        npy::parse(&file).expect_err(header).to_string()
    };
    assert_eq!(
        refusal("{'descr': '<c16', 'fortran_order': False, 'shape': ()}"),
        "byte 20: the element type `<c16` cannot be read"
    );
    assert_eq!(
        refusal("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}"),
        "byte 20: only arrays of plain numbers and booleans can be read"
    );
    assert!(refusal("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999)}").contains("more elements"));
    assert!(refusal("{'descr': '<f8', 'shape': (1,)}").contains("no `fortran_order`"));
    assert!(refusal("{'descr': '<f8'").contains("expected `}`"));
    assert!(npy::parse(b"hello").unwrap_err().to_string().starts_with("byte 0"));
    assert!(npy::parse_archive(b"PK\x03\x04 and so on").is_err());
}

#[test]
fn archives_keep_names() {
    let values = vec![(String::from("x"), Value::from(vec![1.5])), (String::from("n"), Value::from(7u16))];
    let archive = npy::write_archive(&values).unwrap();
    assert!(npy::is_npz(&archive));
    assert_eq!(npy::parse_archive(&archive).unwrap(), values);
    for length in 0..archive.len() {
        assert!(npy::parse_archive(&archive[..length]).is_err(), "{length}");
    }
}

#[test]
fn packed_archives_can_be_read() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("x.npy", options).unwrap();
    let value = Value::from(vec![1.5; 1000]);
    std::io::Write::write_all(&mut archive, &npy::write(&value)).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    assert!(bytes.len() < 1000);
    assert_eq!(npy::parse_archive(&bytes).unwrap(), [(String::from("x"), value)]);
}

fn elements(prim: Prim, count: usize) -> BoxedStrategy<Elements> {
    fn many<T: std::fmt::Debug + 'static>(count: usize, one: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Elements>
    where
        Elements: From<Vec<T>>,
    {
        prop::collection::vec(one, count).prop_map(Elements::from).boxed()
    }
    match prim {
        Prim::Bool => many(count, any::<bool>()),
        Prim::I8 => many(count, any::<i8>()),
        Prim::I16 => many(count, any::<i16>()),
        Prim::I32 => many(count, any::<i32>()),
        Prim::I64 => many(count, any::<i64>()),
        Prim::U8 => many(count, any::<u8>()),
        Prim::U16 => many(count, any::<u16>()),
        Prim::U32 => many(count, any::<u32>()),
        Prim::U64 => many(count, any::<u64>()),
        // One NaN of each type, since files keep only that it is one.
        Prim::F16 => many(count, any::<u16>().prop_map(|bits| one_nan(f16::from_bits(bits), |x| x.is_nan(), f16::NAN))),
        Prim::F32 => many(count, any::<u32>().prop_map(|bits| one_nan(f32::from_bits(bits), |x| x.is_nan(), f32::NAN))),
        Prim::F64 => many(count, any::<u64>().prop_map(|bits| one_nan(f64::from_bits(bits), |x| x.is_nan(), f64::NAN))),
    }
}

fn one_nan<T>(x: T, is_nan: impl Fn(&T) -> bool, nan: T) -> T {
    if is_nan(&x) { nan } else { x }
}

fn value() -> impl Strategy<Value = Value> {
    let shape = prop::collection::vec(0usize..4, 0..4);
    (shape, prop::sample::select(Prim::ALL.to_vec())).prop_flat_map(|(shape, prim)| {
        let count = element_count(&shape).unwrap_or(0);
        elements(prim, count).prop_map(move |elements| Value::new(shape.clone(), elements).expect("as many as the shape says"))
    })
}

fn read_with_every_parser(bytes: &[u8]) {
    let _ = text::parse_values(bytes);
    let _ = text::parse_values_as(bytes, &[ValueType { prim: Prim::F32, rank: 1 }]);
    let _ = binary::parse_value(bytes);
    let _ = npy::parse(bytes);
    let _ = npy::parse_archive(bytes);
    let _ = json::parse_arguments(bytes, &named(&[("x", Prim::I8, 2)]));
}

proptest! {
    #[test]
    fn text_reads_back_what_it_wrote(values in prop::collection::vec(value(), 0..4)) {
        let written: Vec<String> = values.iter().map(ToString::to_string).collect();
        prop_assert_eq!(text::parse_values(written.join("\n").as_bytes()), Ok(values));
    }

    #[test]
    fn binary_reads_back_what_it_wrote(values in prop::collection::vec(value(), 0..4)) {
        let mut written = Vec::new();
        values.iter().for_each(|value| binary::write_value(value, &mut written));
        prop_assert_eq!(text::parse_values(&written), Ok(values));
    }

    #[test]
    fn npy_reads_back_what_it_wrote(value in value()) {
        prop_assert_eq!(npy::parse(&npy::write(&value)), Ok(value));
    }

    #[test]
    fn json_reads_back_what_it_wrote(value in value()) {
        // JSON does not keep the inner sizes of empty arrays.
        if !value.is_empty() {
            prop_assert_eq!(json::to_value(&json::from_value(&value), value.value_type()), Ok(value));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_with_every_parser(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in r#"[\[\]{}(),"\\ .:0-9a-z@#$é\n-]{0,60}"#) {
        read_with_every_parser(text.as_bytes());
    }

    #[test]
    fn damaged_files_never_panic(value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bits = Vec::new();
        binary::write_value(&value, &mut bits);
        let archive = npy::write_archive(&[(String::from("x"), value.clone())]).unwrap();
        for mut file in [value.to_string().into_bytes(), bits, npy::write(&value), archive, json::from_value(&value).to_string().into_bytes()] {
            let at = at.index(file.len());
            match cut {
                true => file.truncate(at),
                false => file[at] = byte,
            }
            read_with_every_parser(&file);
        }
    }
}

#[test]
fn an_archive_is_unpacked_only_as_far_as_its_arrays_may_go() {
    let zeros = Value::zeros(Prim::F64, [1 << 17]).expect("an array");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for name in ["a.npy", "b.npy"] {
        archive.start_file(name, options).expect("a file");
        std::io::Write::write_all(&mut archive, &npy::write(&zeros)).expect("a written file");
    }
    let bytes = archive.finish().expect("an archive").into_inner();
    assert_eq!(npy::parse_archive_within(&bytes, 1 << 21).expect("both arrays").len(), 2);
    for (limit, name) in [((1 << 21) - 1, "b.npy"), (1 << 20, "b.npy"), ((1 << 20) - 1, "a.npy"), (1 << 10, "a.npy")] {
        let error = npy::parse_archive_within(&bytes, limit).expect_err("too much");
        assert_eq!(error.message, format!("{name}: the values take up more memory than the {limit} bytes that they may"));
    }
}

#[test]
fn values_beyond_their_limit_are_refused_in_every_format() {
    let limit = 1000;
    let refused = |error: Result<Vec<Value>, ValueError>| {
        let message = error.expect_err("too much").message;
        assert!(message.contains("more memory than the 1000 bytes"), "{message}");
    };
    let vector = Value::zeros(Prim::F64, [126]).expect("an array");
    let type_of = [ValueType { prim: Prim::F64, rank: 1 }];
    let named = [(String::from("xs"), type_of[0])];
    let mut bytes = Vec::new();
    binary::write_value(&vector, &mut bytes);
    refused(text::parse_values_within(&bytes, &type_of, limit));
    refused(text::parse_values_within(vector.to_string().as_bytes(), &type_of, limit));
    refused(text::parse_values_within("0.0 ".repeat(126).as_bytes(), &[], limit));
    refused(npy::parse_within(&npy::write(&vector), limit).map(|value| vec![value]));
    refused(json::parse_arguments_within(json::from_value(&vector).to_string().as_bytes(), &named, limit));
    let fits = Value::zeros(Prim::F64, [125]).expect("an array");
    assert_eq!(text::parse_values_within(fits.to_string().as_bytes(), &type_of, limit), Ok(vec![fits]));
}
