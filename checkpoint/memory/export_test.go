package memory

// Rows returns how many rows a Map holds, ended or not.
func (m *Map) Rows() int { return len(m.rows) }

// Table returns a Map as a Table.
func (m *Map) Table() Table { return mapTable{m} }
