package flags

import "time"

// DefaultPatience is how long a command waits for writes in flight.
const DefaultPatience = 30 * time.Second
