//! Writes the stub of the compiled module: the signatures of `_core.pyi` with the docstrings of the Rust items, and of
//! the methods that the Python package adds to them.

use std::collections::HashMap;
use std::{env, fs, path::Path};

use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, Fields, Ident, ImplItem, Item, Lit, Meta, Token, Type};

/// The docstrings of classes and functions by name, of members by `Class.member`.
type Docs = HashMap<String, String>;

/// The methods of classes that are written in Python.
const METHODS: &str = "../../python/hlomap/methods.py";

fn main() {
    println!("cargo:rerun-if-changed=_core.pyi");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed={METHODS}");
    let mut docs = Docs::new();
    let items = fs::read_dir("src").expect("the sources").map(|file| {
        let source = fs::read_to_string(file.expect("a source").path()).expect("a source is text");
        syn::parse_file(&source).expect("a source is Rust").items
    });
    let files: Vec<Vec<Item>> = items.collect();
    let mut classes = HashMap::new();
    files.iter().for_each(|items| read_classes(items, &mut classes, &mut docs));
    files.iter().for_each(|items| read(items, &classes, &mut docs));
    read_methods(&fs::read_to_string(METHODS).expect("the methods in Python"), &mut docs);
    let stub = with_docs(&fs::read_to_string("_core.pyi").expect("the signatures"), &docs);
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("_core.pyi"), stub).expect("the folder of the build can be written");
}

/// Collects the docstrings of the classes of a file and of their fields, and the Python names by those in Rust.
fn read_classes(items: &[Item], classes: &mut HashMap<String, String>, docs: &mut Docs) {
    for item in items {
        let Item::Struct(item) = item else { continue };
        if !has(&item.attrs, "pyclass") {
            continue;
        }
        let class = name(&item.attrs, &item.ident.to_string());
        docs.insert(class.clone(), doc(&item.attrs));
        if let Fields::Named(fields) = &item.fields {
            for field in &fields.named {
                let name = field.ident.as_ref().expect("a named field").to_string();
                docs.insert(format!("{class}.{name}"), doc(&field.attrs));
            }
        }
        classes.insert(item.ident.to_string(), class);
    }
}

/// Collects the docstrings of the methods and functions of a file.
fn read(items: &[Item], classes: &HashMap<String, String>, docs: &mut Docs) {
    for item in items {
        match item {
            Item::Impl(item) if has(&item.attrs, "pymethods") => {
                let Type::Path(owner) = &*item.self_ty else { continue };
                let class = &classes[&owner.path.segments[0].ident.to_string()];
                for member in &item.items {
                    if let ImplItem::Fn(method) = member {
                        let name = name(&method.attrs, &method.sig.ident.to_string());
                        docs.insert(format!("{class}.{name}"), doc(&method.attrs));
                    }
                }
            }
            Item::Macro(item) if TABLES.iter().any(|table| item.mac.path.is_ident(table)) => {
                let (class, members) = item.mac.parse_body_with(members).expect("a table of members");
                let class = &classes[&class.to_string()];
                docs.extend(members.into_iter().map(|(name, doc)| (format!("{class}.{name}"), doc)));
            }
            Item::Fn(item) if has(&item.attrs, "pyfunction") => {
                docs.insert(name(&item.attrs, &item.sig.ident.to_string()), doc(&item.attrs));
            }
            _ => {}
        }
    }
}

/// Collects the docstrings of methods in Python, each in a class of the name of its own.
fn read_methods(source: &str, docs: &mut Docs) {
    let (mut class, mut name) = ("", "");
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("class ") {
            class = head.trim_end_matches(':');
        } else if let Some(head) = line.strip_prefix("    def ") {
            name = head.split('(').next().expect("a part");
        } else if let Some(first) = line.strip_prefix("        \"\"\"") {
            let mut doc = first.trim_end_matches("\"\"\"").to_owned();
            if doc == first {
                for line in lines.by_ref().map(|line| line.strip_prefix("        ").unwrap_or(line)) {
                    if line == "\"\"\"" {
                        break;
                    }
                    doc += &format!("\n{line}");
                }
            }
            docs.insert(format!("{class}.{name}"), doc);
        }
    }
}

/// The macros of `class.rs` that begin with a class and then have members, each with attributes and a name.
const TABLES: [&str; 3] = ["getters", "prints", "by_its_text"];

/// The class of a table of members, and the name and docstring of each.
fn members(input: ParseStream<'_>) -> syn::Result<(Ident, Vec<(String, String)>)> {
    let class = input.parse()?;
    let rest = || -> syn::Result<Token![;]> {
        while !input.peek(Token![;]) {
            input.step(|at| Ok(((), at.token_tree().ok_or_else(|| at.error("expected a semicolon"))?.1)))?;
        }
        input.parse()
    };
    rest()?;
    let mut members = Vec::new();
    while !input.is_empty() {
        let attributes = input.call(Attribute::parse_outer)?;
        members.push((input.parse::<Ident>()?.unraw().to_string(), doc(&attributes)));
        rest()?;
    }
    Ok((class, members))
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|a| a.path().is_ident(name))
}

/// The name in Python of an item.
fn name(attributes: &[Attribute], rust: &str) -> String {
    let given = attributes.iter().find_map(|a| {
        let arguments = a.meta.require_list().ok()?.tokens.to_string();
        arguments.strip_prefix("name = \"").and_then(|rest| rest.split('"').next()).map(str::to_owned)
    });
    given.unwrap_or_else(|| rust.to_owned())
}

/// The lines of a doc comment, without the space that follows the slashes.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|a| match &a.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect::<Vec<_>>().join("\n")
}

/// The stub with a docstring after every head that has one, and a property for each attribute of a class, as classes are
/// frozen.
fn with_docs(stub: &str, docs: &Docs) -> String {
    let (mut class, mut of, mut out) = (String::new(), None, String::new());
    for line in stub.lines() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = |keyword| Some(code.strip_prefix(keyword)?.split(|c| !in_word(c)).next()?.to_owned());
        if line.starts_with(in_word) {
            class = word("class ").unwrap_or_default();
            of = docs.get(&class);
        }
        let attribute = code
            .split_once(": ")
            .filter(|(name, _)| !class.is_empty() && indent.len() == 4 && name.chars().all(in_word));
        let line = attribute
            .map_or(line.to_owned(), |(name, kind)| format!("    @property\n    def {name}(self) -> {kind}: ..."));
        if let Some(name) = attribute.map(|(name, _)| name.to_owned()).or_else(|| word("def ")) {
            of = docs.get(&if class.is_empty() { name } else { format!("{class}.{name}") });
        }
        let head = line
            .rsplit_once(": ...")
            .or(line.strip_suffix(':').filter(|_| code.starts_with("class ")).map(|l| (l, "")));
        match (head, of.filter(|doc| !doc.is_empty())) {
            (Some((head, comment)), Some(doc)) => {
                let newline = format!("\n{indent}    ");
                let end = if doc.contains('\n') { &newline } else { "" };
                out += &format!("{head}:{comment}{newline}r\"\"\"{}{end}\"\"\"\n", doc.replace('\n', &newline));
                of = None;
            }
            _ => out += &format!("{line}\n"),
        }
    }
    out
}
