// Package sqlscan has the common code of the SQL stores: the query of a scan of documents ([SQL]),
// and lists that are read page by page ([Yield]).
package sqlscan
