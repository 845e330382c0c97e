// Package sqlscan has what the stores in SQL share: the text of a scan of documents ([SQL]), and lists
// that are read a page at a time ([Yield]).
package sqlscan
