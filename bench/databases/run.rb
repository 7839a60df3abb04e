# frozen_string_literal: true

# bin/bench databases: the pool of connections against its peer, and an app with three queries a request under Plait::Server
# against puma and falcon, on a MariaDB and a PostgreSQL that are started and filled for it.

require_relative "../harness"
require_relative "support/databases"

exit(Bench::Databases.around(ARGV) { Bench::Harness::Command.run(__dir__) })
