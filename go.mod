module github.com/weftrun/weft

go 1.26.8
