# frozen_string_literal: true

# bin/bench databases: the pool of connections against its peer, also in an overload; queries against the bare drivers; and an
# app with three queries a request under Plait::Server against puma and falcon. A MariaDB, a PostgreSQL and a Redis are started
# and filled for it.

require_relative "../harness"
require_relative "support/databases"

exit(Bench::Databases.around(ARGV) { Bench::Harness::Command.run(__dir__) })
