// Package redistest starts a real redis-server for a test, and ends it with the test.
package redistest
