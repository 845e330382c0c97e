// Package servertest starts a real Redis or PostgreSQL for a test, and ends it with the test.
package servertest
