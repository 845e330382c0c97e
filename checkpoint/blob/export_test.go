package blob

// TableOf returns the table of a store.
func TableOf(s *Store) Table { return s.table }
