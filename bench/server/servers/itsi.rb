# frozen_string_literal: true

require "fileutils"
require "itsi/server"
require_relative "app"

app, threads, port = ARGV
Dir.chdir(FileUtils.mkdir_p(File.expand_path("../../../tmp/bench/itsi", __dir__)).first) # it leaves a PID file where it runs
Itsi::Server.start({ binds: ["http://127.0.0.1:#{port}"], threads: Integer(threads), workers: 1, log_level: "error" }) do
  run APPS.fetch(app)
end
