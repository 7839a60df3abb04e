# frozen_string_literal: true

require "plait/cli/command"
require_relative "../../db/matrix"
require "plait/cli/doctor/check"
require "plait/cli/doctor/examiner"
require "plait/cli/doctor/optional_gems"

module Plait
  module CLI
    class Doctor < Command
      # What the drivers of databases do in fibers, and which of them are here.
      class Databases < Examiner
        def checks = DB::Matrix::ROWS.group_by(&:driver).flat_map { |driver, rows| examine(driver, rows) }

        private

        def examine(driver, rows)
          gem = rows.first.gem
          version = OptionalGems.version(gem)
          [presence(driver, gem, version), *rows.map { |row| outcome(driver, row) }]
        end

        def presence(driver, gem, version)
          return Check.new(group: driver, name: "gem", status: :ok, value: version, text: "#{gem} #{version}") if version

          Check.new(group: driver, name: "gem", status: :missing, text: "#{gem} is not installed", hint: "gem install #{gem}")
        end

        def outcome(driver, row)
          Check.new(group: driver, name: row.call, status: row.good? ? :ok : :limited, value: row.ratio, text: row.to_s)
        end
      end
    end
  end
end
