//! Has the linker of the shipped library fold functions with the same code, of which generics make many.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    // The `dist` profile alone has this level; the linker of this target is lld.
    if is("OPT_LEVEL", "z") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
