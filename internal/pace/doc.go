// Package pace is for tests alone. Under the race detector a program is five to twenty times as slow, and its
// processes sleep for a second before they end. So tests that try things at random try fewer there, by Tries and
// Of, and children are started with Environ.
//
// What is shorter under the race detector runs whole without it: .ci/test runs all packages without the
// detector, and .ci/race with it.
package pace
