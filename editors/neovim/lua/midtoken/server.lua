-- The server's life: whether it can start, how it ended, and switching it off and on.

local status = require('midtoken.status')

local M = {}

--- A server that has ended is started again, unless that has happened so often in such a time: then
--- something is wrong that starting does not mend.
local MOST_ENDS, WITHIN_MS = 4, 3 * 60 * 1000

local START_AFTER_MS = 500 -- Neovim has let go of the old one by then

local missing_was_said = false
local stopping = false
local ends = {} ---@type number[] when servers have ended, by a clock that nobody can set

--- The command as it is configured; nil where it is a function, as `vim.lsp.rpc.connect(…)` gives.
---@return string[]?
function M.command()
  local command = vim.lsp.config.midtoken.cmd
  return type(command) == 'table' and command or nil
end

--- Whether the server's program is there; if it is not, that is said once.
---@return boolean
function M.can_start()
  local command = M.command()
  if command == nil or vim.fn.executable(command[1]) == 1 then
    missing_was_said = false
    return true
  end
  local message = ('%s is not on the PATH: install midtoken, or set `cmd` to its path with '):format(
    command[1]
  ) .. "vim.lsp.config('midtoken', { cmd = { … } })"
  status.current = { state = 'off', message = message }
  vim.g.midtoken_status = 'off'
  if not missing_was_said then
    missing_was_said = true
    vim.notify('midtoken: ' .. message, vim.log.levels.WARN)
  end
  return false
end

--- Note that a server has ended; if nobody asked it to, say so and start it again.
---@param code integer the program's exit code
---@param signal integer the signal that ended it, or 0
function M.ended(code, signal)
  vim.schedule(function()
    if stopping or (code == 0 and signal == 0) or vim.v.exiting ~= vim.NIL then
      return status.update({ state = 'off', message = 'the server has stopped' })
    end
    local how = signal ~= 0 and ('signal %d'):format(signal) or ('code %d'):format(code)
    local message = 'the server ended with ' .. how
    local now = vim.uv.now()
    ends = vim.tbl_filter(function(moment)
      return now - moment < WITHIN_MS
    end, ends)
    table.insert(ends, now)
    if #ends > MOST_ENDS then
      message = message .. ' again: `:Midtoken log` tells more, `:Midtoken restart` starts it again'
      return status.update({ state = 'error', message = message })
    end
    message = message .. ' and starts again'
    status.update({ state = 'starting', message = message })
    vim.notify('midtoken: ' .. message, vim.log.levels.WARN)
    vim.defer_fn(function()
      if not stopping and M.can_start() then
        vim.lsp.enable('midtoken')
      end
    end, START_AFTER_MS)
  end)
end

---@return vim.lsp.Client[]
function M.clients()
  return vim.lsp.get_clients({ name = 'midtoken' })
end

--- Stop the server, and start none for files that are opened later.
function M.disable()
  stopping = true
  vim.lsp.enable('midtoken', false)
  for _, client in ipairs(M.clients()) do
    client:stop()
  end
  status.update({ state = 'off', message = '`:Midtoken toggle` switches it on' })
end

--- Start the server for the files that are open and for those to come.
function M.enable()
  stopping = false
  ends = {}
  vim.lsp.enable('midtoken')
end

--- Load the model again; start the server if there is none.
function M.restart()
  local clients = M.clients()
  if #clients == 0 then
    return M.enable()
  end
  for _, client in ipairs(clients) do
    client:exec_cmd({ title = 'Restart the model', command = 'midtoken.restartModel' })
  end
end

return M
