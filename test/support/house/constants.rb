# frozen_string_literal: true

module Support
  module House
    # Which constant of the gem lives in which file, looked up as Ruby does it.
    class Constants
      # These hold what users name without the room: Plait::Outcome, Plait::Scheduler, Plait::Pool.
      UNNAMED_ROOMS = /\Aplait::(values|mechanisms|db)::/

      MECHANISMS = %w[attempt interruption mechanism options rails_execution readiness state time_limit].map do |name|
        "plait/lib/plait/mechanisms/#{name}.rb"
      end
      COMMANDS = %w[arguments command exit_status].map { |name| "plait/lib/plait/cli/#{name}.rb" }
      IO = %w[plait-io/lib/plait/io/native.rb].freeze
      # Files that others count on, by the folders of these: the main file of a folder requires them before all others.
      FLOORS = {
        "" => %w[plait/lib/plait/values/ plait/lib/plait/native.rb plait/lib/plait/version.rb],
        "plait/mechanisms/" => MECHANISMS,
        "plait/mechanisms/patches/" => %w[plait/lib/plait/mechanisms/patches/gate.rb],
        "plait/mechanisms/processes/" => %w[portable processes/child_process processes/forking processes/frames].map do |name|
          "plait/lib/plait/mechanisms/#{name}.rb"
        end,
        "plait/mechanisms/ractors/" => %w[portable ractors/explanation].map { |name| "plait/lib/plait/mechanisms/#{name}.rb" },
        "plait/lab/" => %w[plait/lib/plait/lab/text.rb],
        "plait/suites/" => %w[plait/lib/plait/suites/common/suite.rb],
        "plait/cli/" => COMMANDS,
        "plait/commands/" => COMMANDS,
        "plait/http/" => IO + %w[auth codings cookie_jar headers redirects request response timeouts upload url].map do |name|
          "plait-http/lib/plait/http/#{name}.rb"
        end + %w[plait-io/lib/plait/protocols/http1],
        "plait/server/" => IO + %w[endpoint listener stop_signal workers].map { |name| "plait-io/lib/plait/io/#{name}" } +
                           %w[plait/lib/plait/mechanisms/scheduler.rb plait-io/lib/plait/protocols/http2/frames.rb],
        "plait/rpc/" => IO + MECHANISMS + %w[plait/lib/plait/mechanisms/thread_guard.rb plait-rpc/lib/plait/rpc/lock.rb
                                             plait-rpc/lib/plait/rpc/incoming.rb plait-rpc/lib/plait/protocols/messagepack_rpc],
        "plait/db/" => %w[database driver errors pool result session].map { |name| "plait-db/lib/plait/db/#{name}.rb" },
        "plait/shard/" => %w[native node node_connection].map { |name| "plait-shard/lib/plait/shard/#{name}.rb" }
      }.freeze

      # Folders that name a kind of file, and not a module.
      KINDS = { "plait/commands/" => "plait/cli/", "plait/suites/common/" => "plait/suites/" }.freeze

      # @return [Boolean] whether it is the constant that a file of this path is for
      def self.of_the_file?(path, name)
        full = squeeze(path.sub(%r{\A.*?/lib/}, "").gsub(Regexp.union(KINDS.keys), KINDS).delete_suffix(".rb").gsub("/", "::"))
        [full, full.sub(UNNAMED_ROOMS, "plait::")].include?(squeeze(name))
      end

      # @return [Boolean] whether its last word is that of the file
      def self.named_alike?(path, name) = squeeze(name[/\w+\z/]) == squeeze(File.basename(path, ".rb"))

      # "Plait::Lab::HTMLReport" and "plait::lab::html_report" are the same: no table of acronyms is needed.
      def self.squeeze(name) = name.downcase.delete("_")

      # @param files [Hash{String => SourceFile}]
      def initialize(files)
        @files = files
        @homes = definitions.to_h { |name, paths| [name, narrow(name, paths)] }
      end

      # @return [Array<String>, nil] the files that define it, nil when it is none of ours
      def homes(reference) = @homes[resolve(reference)]

      # From the innermost module outwards. Then the longest part of it that we define: in Lab::Row::LIMITS the last part may
      # be Struct.new's doing.
      # @return [String, nil] the full name of a constant of ours
      def resolve(reference)
        return longest_known(reference.path.delete_prefix("::")) if reference.path.start_with?("::")

        outer = [*reference.nesting, nil].find { |mod| @homes.key?([mod, reference.head].compact.join("::")) }
        longest_known([outer, reference.path].compact.join("::"))
      end

      # Whether the file may count on the constant: because it defines it, requires it, is nested in it, or is a part of
      # the file that defines it (the part alone needs the whole anyway).
      def at_hand?(file, reference)
        name = resolve(reference)
        floor?(file.path, name) || own?(file, reference, name) || required?(file, name) ||
          @homes[name].any? { |home| part_of?(home, file.path) }
      end

      private

      def floor?(path, name)
        place = path.sub(%r{\A.*?/lib/}, "")
        floors = FLOORS.select { |folder, _| place.start_with?(folder) }.values.flatten
        @homes[name].any? { |home| home.start_with?(*floors) }
      end

      def definitions
        pairs = @files.values.flat_map { |file| file.definitions.map { |name| [name, file.path] } }
        pairs.group_by(&:first).transform_values { |same| same.map(&:last).uniq }
      end

      # A constant that many files open (module Plait, module Lab) lives in the file of its name, if there is one.
      def narrow(name, paths)
        own = paths.select { |path| Constants.of_the_file?(path, name) || Constants.named_alike?(path, name) }
        own.any? ? own : paths
      end

      def longest_known(name)
        name = name.rpartition("::").first until name.empty? || @homes.key?(name)
        name unless name.empty?
      end

      def own?(file, reference, name)
        @homes[name].include?(file.path) || reference.nesting.include?(name) ||
          file.definitions.any? { |defined| defined.start_with?("#{name}::") }
      end

      # A file that requires lab/session.rb also gets its parts, such as Lab::Session::Round.
      def required?(file, name)
        parts = name.split("::")
        bases = file.files.grep(%r{/base\.rb\z}).flat_map { |path| @files[path].files }
        parts.size.downto(2).any? { |count| @homes.fetch(parts.first(count).join("::"), []).intersect?(file.files + bases) }
      end

      def part_of?(home, path, seen = [])
        return false if seen.include?(home) || !@files.key?(home)

        seen << home
        @files[home].files.any? { |other| other == path || part_of?(other, path, seen) }
      end
    end
  end
end
