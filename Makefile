# SPDX-License-Identifier: MIT
# The front door. CMake and Ninja do the work; this file names what people ask for.
#   make              Release build in build/
#   make deps         installs what is missing of tools/packages.txt
#   make demo         builds, fetches the demo model and asks it a question (MODEL=path, PROMPT=text)
#   make check        every test and static check; make check-full: the long ones too
#   make bench        rates of this machine; make fuzz: FUZZ_SECONDS for each target
#   make install      under PREFIX, below DESTDIR
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
MODEL ?=
PROMPT ?= Write a C function that reverses a string in place, and explain it in two sentences.
DEMO_MODEL = qwen2.5-coder-0.5b
FUZZ_SECONDS ?= 600
# Processes that work at once: the cores that this process may use.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all configure deps demo check check-full bench peers fuzz install clean

all: configure
	@ninja -C $(BUILD) -j $(JOBS)

# Ninja itself runs CMake again when a CMake file has changed.
configure: $(BUILD)/build.ninja
$(BUILD)/build.ninja:
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$(PREFIX)

deps:
	@sh tools/deps

demo:
	@sh tools/deps build
	@$(MAKE) -s configure
	@ninja -C $(BUILD) -j $(JOBS) $$([ ! -x $(BUILD)/cmd/power ] || echo --quiet) cmd/power
	@model='$(MODEL)'; [ -n "$$model" ] || model=$$(sh tools/fetch-model $(DEMO_MODEL)) || exit 1; \
	    exec $(BUILD)/cmd/power run "$$model" "$$PROMPT" --stats
demo: export PROMPT := $(PROMPT)

check:
	@tools/check

check-full:
	@tools/check --full

bench: all
	@model='$(MODEL)'; [ -n "$$model" ] || model=$$(sh tools/fetch-model $(DEMO_MODEL)) || exit 1; \
	    exec $(BUILD)/cmd/power bench "$$model"

# Power and llama.cpp in alternation on this machine.
peers: all
	@bench/peers

fuzz:
	@tools/fuzz $(FUZZ_SECONDS)

install: all
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'

clean:
	rm -rf $(BUILD) build-asan build-tsan build-fuzz
