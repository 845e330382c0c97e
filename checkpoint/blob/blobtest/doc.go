// Package blobtest judges backends of package blob. A backend passes with one call:
//
//	func TestBlobs(t *testing.T) {
//		blobtest.Run(t, func(t testing.TB) blob.Table { return newTable(t) })
//	}
package blobtest
