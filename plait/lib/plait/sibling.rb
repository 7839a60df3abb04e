# frozen_string_literal: true

module Plait
  # The gems of the family that a program uses without naming them: Plait::HTTP is in plait-http.
  module Sibling
    # The gem of each file of another gem that plait asks for, by its place below plait/.
    GEMS = {
      "cli/doctor/databases" => "plait-db", "db" => "plait-db", "http" => "plait-http",
      "cli/serve/consultation" => "plait-server", "rpc" => "plait-rpc", "server" => "plait-server", "shard" => "plait-shard",
      "commands/fetch" => "plait-http", "commands/rpc" => "plait-rpc", "commands/serve" => "plait-server",
      "commands/shard" => "plait-shard", "mechanisms/sidekiq" => "plait-sidekiq"
    }.freeze

    class << self
      # @param file [String] a key of the table
      # @raise [UnsupportedError] where the gem is missing, or is of another version than this one
      def load(file)
        feature = "plait/#{file}"
        require feature
        check(gem_of(file))
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "#{feature} is in the gem #{gem_of(file)}, which is not installed: " \
                                "gem install #{gem_of(file)} -v #{VERSION}" \
                                "#{", and gem \"#{gem_of(file)}\" in the Gemfile" if defined?(Bundler)}"
      end

      # @return [String, nil] the gem that has it
      def gem_of(file) = GEMS[file]

      # @param folder [String] "mechanisms"
      # @return [Array<Symbol>] names of the files there that other gems have
      def names(folder) = GEMS.keys.filter_map { |file| file[%r{\A#{folder}/(\w+)\z}, 1]&.to_sym }

      private

      def check(gem)
        version = Gem.loaded_specs[gem]&.version if defined?(Gem)
        return if version.nil? || version == Gem::Version.new(VERSION)

        raise UnsupportedError, "#{gem} #{version} is loaded beside plait #{VERSION}: all of them need one version"
      end
    end
  end
  private_constant :Sibling
end
