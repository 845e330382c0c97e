// Package scans writes the scan of a document table in SQL, alike for all stores that speak it.
package scans
