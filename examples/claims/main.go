// Claims is the weft command with a model that needs no key, and two workflows. They wait for
// people and for times, keep a photo beside the history, and spend no more than a budget.
//
//	cd examples/claims
//	go run . run claim.yaml --thread c1 --blobs store --metadata office=berlin \
//		--input photo=@../../docs/studio.png --input 'text=a dent in the car'
//	go run . resume c1 --blobs store --answer yes
//	go run . blobs c1
//	go run . usage --by office
//	go run . wake report.yaml --once
//	go run . schedules
//
// The third claim of an office in a day asks whether one more call may be made. A question without
// an answer reminds ann each day, asks ben after three, and means no after a week: run wake without
// --once, or serve.
package main

import (
	"context"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/weftcli"
)

func main() { weftcli.Main(config()) }

func config() weftcli.Config {
	assessor := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		return model.Say("The customer reports " + r.Messages[len(r.Messages)-1].Text() + ".")
	})
	return weftcli.Config{Name: "claims", Models: map[string]model.Model{"assessor": assessor}}
}
