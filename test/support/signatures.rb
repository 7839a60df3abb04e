# frozen_string_literal: true

require "pathname"
require "rbs"
require "yard"
require_relative "signatures/signed_module"

module Support
  # The signatures in sig/, read by RBS, ready to be compared with the loaded code.
  class Signatures
    # @param folders [String, Array<String>]
    def self.read(folders)
      loader = RBS::EnvironmentLoader.new(core_root: nil)
      Array(folders).each { |folder| loader.add(path: Pathname(folder)) }
      new(RBS::Environment.from_loader(loader))
    end

    def initialize(environment)
      @environment = environment
    end

    # @return [Array<String>] of modules, classes and other constants
    def constants = [*@environment.class_decls.keys, *@environment.constant_decls.keys].map { |name| plain(name) }

    # @param libs [String, Array<String>] the folders of the code, whose comments say which methods are `@api private`
    # @return [Array<SignedModule>]
    def modules(libs)
      internal = internal_methods(libs)
      @environment.class_decls.map do |name, entry|
        SignedModule.new(plain(name), entry.decls.flat_map { |decl| decl.decl.members }, internal)
      end
    end

    private

    def plain(name) = name.to_s.delete_prefix("::")

    # @return [Array<String>] "Plait::Scheduler#ready"
    def internal_methods(libs)
      YARD::Logger.instance.level = YARD::Logger::ERROR
      YARD.parse(Array(libs).map { |folder| File.join(folder, "**/*.rb") })
      YARD::Registry.all(:method).select { |method| internal?(method) }.map(&:path)
    ensure
      YARD::Registry.clear
    end

    def internal?(object) = object.tag(:api)&.text == "private"
  end
end
