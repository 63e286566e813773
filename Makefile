# The two commands are `make demo` and `make test`; the rest is for those who change the code.

.PHONY: demo test bench lint fmt fixtures

# Builds, runs the service with everything embedded and shows it at work. DEMO_ONCE=1 ends when it is done.
demo:
	tests/scripts/need.sh build
	cargo run -- demo

# Installs what is missing with apt, starts a private PostgreSQL, runs every test.
test:
	@tests/scripts/test.sh

# Measures the bars of speed and memory; prints them as a table and as JSON.
bench:
	tests/scripts/need.sh build
	cargo bench --bench bars

# Formatting, lints, documentation and scripts, with warnings denied.
lint:
	tests/scripts/lint.sh

fmt:
	cargo fmt --all

# Makes the sample call and the talk-off speech anew.
fixtures:
	tests/scripts/need.sh speech
	tests/fixtures/make.sh
