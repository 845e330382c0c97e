// Package racescale is for tests alone: it sets how often a random test tries.
//
// Under the race detector a program is five to twenty times as slow. Tests with many random cases
// therefore run fewer of them there, and with -short, which "make test" sets. "make check" runs all
// tests with the detector, and again without it those that use Of, Tries or Raced, which
// internal/scaled finds.
//
// A process under the race detector sleeps for a second before it ends; Environ turns that off for
// child processes.
package racescale
