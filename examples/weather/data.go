package weather

import _ "embed"

// CSV is seattle-weather.csv, as DATA.md describes it.
//
//go:embed seattle-weather.csv
var CSV string
